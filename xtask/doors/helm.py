"""Lints and renders the Helm chart with Helm's own library, and reads what it rendered.

usage: helm.py CHART

No cluster is asked. That the objects do what they should is not tested.
"""

import sys

import helm_python as helm
import yaml


# The severity of a remark, such as that the chart has no icon. A warning has 2, an error 3.
INFO = 1


def check(is_right, what):
    if not is_right:
        raise SystemExit(f"wrong: {what}")
    print(f"ok: {what}", flush=True)


def rendered(chart, values):
    """Returns the objects by their kind."""
    manifests = chart.render(values, name="team", namespace="tools")
    objects = [one for text in manifests.values() for one in yaml.safe_load_all(text) if one]
    return {one["kind"]: one for one in objects}


def main():
    [path] = sys.argv[1:]
    said = helm.lint(path)["messages"]
    check(all(one["severity"] <= INFO for one in said), f"lint has no warning and no error: {said}")
    with helm.Chart.load(path) as chart:
        objects = rendered(chart, {"replicas": 5, "hosts": ["a.example", "b.example"], "config": '[servers.x]\nurl = "https://x.example"\n'})
    check(sorted(objects) == ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service"], f"it renders {', '.join(sorted(objects))}")
    check(objects["ConfigMap"]["data"]["spillgate.toml"].rstrip().endswith('url = "https://x.example"'), "the configuration is whole")
    deployment = objects["Deployment"]["spec"]
    check(deployment["replicas"] == 5, "the values are used")
    [container] = deployment["template"]["spec"]["containers"]
    values = {one["name"]: one.get("value") for one in container["env"]}
    check(values["SPILLGATE_HTTP_ALLOW_HOSTS"] == "a.example,b.example", "lists become variables")
    check(all(isinstance(value, (str, type(None))) for value in values.values()), "all variables are texts, as Kubernetes wants them")


if __name__ == "__main__":
    main()
