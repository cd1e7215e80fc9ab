import type { BuildOptions } from 'esbuild';

/** Puts bundles of the modules `entryPoints` below `sources` into `target`, at the same places. */
export function bundlePrograms(options: { sources: string; target: string } & BuildOptions): Promise<void>;
