"""From differences to grades: known deviations, attribution, round trip."""
