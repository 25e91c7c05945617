"""Systems and metrics compared: significance, leaderboards, reports, human judgments."""
