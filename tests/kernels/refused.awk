# SPDX-License-Identifier: Apache-2.0
# refused.awk: for verdict.awk and table.awk. Refused must be, and the refusal name Yama: everybody under scope 3, and an
# ordinary user under scope 2 without user namespaces (0, aa); nobody else.
function must_be_refused(yama, userns, who) { return yama == 3 || (yama == 2 && userns != 1 && who == "user") }
function is_refused_rightly(yama, userns, who, cause) { return must_be_refused(yama, userns, who) && cause ~ /[Yy]ama/ }
