"""Systems and metrics compared: leaderboards, reports, human judgments."""
