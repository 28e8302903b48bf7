"""What policies share: degrees, estimates of what is measured, verdicts that become a decision."""
