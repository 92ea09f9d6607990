# SPDX-License-Identifier: Apache-2.0
egress_SRCS := egress/authority.c egress/confine.c egress/dial.c egress/dns.c egress/door.c egress/http_body.c egress/http_conn.c \
	egress/http_head.c egress/http_refuse.c egress/http_relay.c egress/http_text.c egress/http_write.c egress/limits.c egress/lookup.c egress/new_policy.c \
	egress/proxy.c egress/proxy_head.c egress/publish.c egress/relay.c egress/resolver.c egress/serve.c \
	egress/tls.c egress/tls_world.c egress/trust.c egress/upstream.c
