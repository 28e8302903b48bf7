"""Values that flow round the loop, and the loop itself. Imports nothing else of Penstock."""
