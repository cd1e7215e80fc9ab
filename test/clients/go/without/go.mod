// In place of what the generated client needs for tests of its own only, and what the proxy does not have.
module github.com/opentable/test_with_docker
