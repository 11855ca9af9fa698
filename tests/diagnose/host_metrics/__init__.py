"""Host metrics: made hosts that heat, throttle and fail, and what is concluded from them."""
