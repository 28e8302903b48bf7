"""plant"""
