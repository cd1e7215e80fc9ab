/**
 * Variables that lead the programs of engines to their engine, its images and its registries, from the environment of
 * the agent.
 */
export const engineVariables: readonly string[] = [
  'HOME XDG_RUNTIME_DIR TMPDIR DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT DOCKER_CERT_PATH DOCKER_TLS DOCKER_TLS_VERIFY',
  'DOCKER_API_VERSION CONTAINER_HOST CONTAINER_SSHKEY CONTAINERS_CONF CONTAINERS_CONF_OVERRIDE CONTAINERS_STORAGE_CONF',
  'CONTAINERS_REGISTRIES_CONF CONTAINERS_REGISTRIES_CONF_DIR REGISTRY_AUTH_FILE DBUS_SESSION_BUS_ADDRESS',
].flatMap((names) => names.split(' '));
