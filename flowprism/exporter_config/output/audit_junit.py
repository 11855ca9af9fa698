"""An audit as JUnit XML: a suite for each device, a case for each rule."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from flowprism.exporter_config.audit import AuditReport
from flowprism.exporter_config.findings import RULES, ConfigFinding, Severity

# What XML 1.0 cannot say (section 2.2): control characters and halves of surrogate pairs.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: AuditReport) -> str:
    """`testsuites`: errors and warnings fail their rule's case; an info passes and is printed."""
    root = Element("testsuites", name="flowprism config audit")
    names = sorted({device.name for device in report.devices} | {found.device for found in report.findings})
    for name in names:
        _suite(root, name, [found for found in report.findings if found.device == name])
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, device: str, findings: list[ConfigFinding]) -> None:
    failing = {found.rule for found in findings if found.severity is not Severity.INFO}
    suite = SubElement(root, "testsuite", name=_clean(device), tests=str(len(RULES)), failures=str(len(failing)))
    for rule in RULES:
        case = SubElement(suite, "testcase", classname=_clean(device), name=rule)
        for found in findings:
            if found.rule != rule:
                continue
            text = _clean("\n".join((f"{found.file}:{found.line}", *found.fix)))
            if found.severity is Severity.INFO:
                SubElement(case, "system-out").text = _clean(found.message)
            else:
                SubElement(case, "failure", message=_clean(found.message), type=found.severity).text = text


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
