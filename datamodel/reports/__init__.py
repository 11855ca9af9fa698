"""What analyses conclude: layouts, findings, reports and scans; and the truth that scorers compare them with."""
