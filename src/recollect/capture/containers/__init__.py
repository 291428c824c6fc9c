"""Reads each way in which agents write: lines, whole files of text or JSON, databases, exports."""
