"""A scan as JUnit XML: a suite a job, a case a kind of fault, so that any build server can show it."""

from __future__ import annotations

import re
from typing import get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from datamodel.reports.findings import Finding, FindingKind
from datamodel.reports.scan import JobScan, Scan

# What XML 1.0 cannot say (section 2.2): control characters and halves of surrogate pairs.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(scan: Scan) -> str:
    """Build `testsuites`: findings of any severity fail their kind's case; unknown ones are skipped with the reason."""
    root = Element("testsuites", name="flowprism scan")
    for job in scan.jobs:
        name = job.label or job.id or ""
        _suite(root, name, job.findings, job.reasons if _is_blind(job) else ())
    _suite(root, "feed", scan.findings, scan.reasons)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _is_blind(job: JobScan) -> bool:
    return job.verdict == "unknown"


def _suite(root: Element, name: str, findings: tuple[Finding, ...], reasons: tuple[str, ...]) -> None:
    kinds = ("feed",) if name == "feed" else [kind for kind in get_args(FindingKind) if kind != "feed"]
    failing = {finding.kind for finding in findings}
    skipped = [kind for kind in kinds if reasons and kind not in failing]
    suite = SubElement(root, "testsuite", name=_clean(name))
    for key, count in (("tests", len(kinds)), ("failures", len(failing)), ("skipped", len(skipped))):
        suite.set(key, str(count))
    for kind in kinds:
        case = SubElement(suite, "testcase", classname=_clean(name), name=kind)
        for finding in findings:
            if finding.kind == kind:
                failure = SubElement(case, "failure", message=_clean(finding.summary), type=finding.severity)
                failure.text = _clean(finding.action)
        if kind in skipped:
            SubElement(case, "skipped", message=_clean("; ".join(reasons)))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
