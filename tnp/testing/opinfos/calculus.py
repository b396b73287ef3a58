"""OpInfos: calculus."""
