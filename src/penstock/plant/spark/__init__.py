"""plant/spark"""
