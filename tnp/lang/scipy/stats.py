from tnp.lang.scipy import stats_distributions as _d
