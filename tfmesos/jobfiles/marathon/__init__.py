"""Groups of Marathon: ``group`` reads one, ``export`` writes one. Pure, as the folder above."""
