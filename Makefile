# make check runs what must pass before a change lands. It changes nothing outside
# this folder and installs no package; where a tool is missing, it names the tool and
# how to install it.
.PHONY: check
check:
	./.ci/check
