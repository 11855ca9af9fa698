"""What endpoints are like in one window, and which hosts are late in job after job."""
