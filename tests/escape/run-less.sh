#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where no namespace can be had: the attacks that one would have kept away (TAP).
QUICK=user ON='--no namespaces' ONLY='[nsu]*' exec bash "$(dirname "$0")/run.sh"
