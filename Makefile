# The three commands of CONTRIBUTING.md. They change nothing outside this folder and
# install no package; where a tool is missing, they name the tool and how to install it.
.PHONY: quick check generate

# quick tests the packages that depend on what changed since BASE, main's merge base by
# default.
quick:
	./.ci/quick $(BASE)

# check runs what must pass before a change lands.
check:
	./.ci/check $(BASE)

# generate writes again every file that is made from others, and prints which changed.
generate:
	go run ./internal/generate
