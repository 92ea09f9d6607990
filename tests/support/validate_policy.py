# SPDX-License-Identifier: Apache-2.0
"""validate_policy.py SCHEMA FILE...: names the files that are no document by the schema. Status 0
when all are. An independent judge: python3-yaml reads, python3-jsonschema validates."""
import sys
import json
import yaml
import jsonschema


class Loader(yaml.SafeLoader):
    """Time stamps stay strings, as in YAML 1.2's core schema."""


Loader.yaml_implicit_resolvers = {
    k: [r for r in v if r[0] != "tag:yaml.org,2002:timestamp"]
    for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
bad = 0
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as f:
        document = yaml.load(f, Loader)
    for error in validator.iter_errors(document):
        print(f"{name}: {error.json_path}: {error.message}")
        bad = 1
sys.exit(bad)
