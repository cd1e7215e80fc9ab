/** Puts bundles of the modules `entryPoints` below `sources` into `target`, at the same places. */
export function bundlePrograms(sources: string, entryPoints: readonly string[], target: string): Promise<void>;
