"""plant/twin"""
