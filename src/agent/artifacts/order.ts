import type { ClusterArtifact, EmbeddedArtifact, ExternalArtifact } from '../../core/model/deploy.js';

/** Preparation failed because of what the deploy asked for; anything else that fails is the agent's own trouble. */
export class DeployFault extends Error {}

/** What the agent asks of the program that fetches the files of one task: one line of JSON. */
export interface FetchOrder {
  /** The sandbox. */
  root: string;
  /** Whom to become first. Absent: nobody else. */
  user?: { uid: number; gid: number };
  downloads: readonly ClusterArtifact[];
  /** Of executorData, for the task's folder (below the sandbox). */
  executor?: {
    folder: string;
    log: string;
    embedded: readonly EmbeddedArtifact[];
    external: readonly ExternalArtifact[];
  };
  limits: FetchLimits;
}

export interface FetchLimits {
  /** Of one file that is fetched. */
  artifactBytes: number;
  /** Of everything in the sandbox, unpacked. */
  totalBytes: number;
  files: number;
  /** Of everything that the task fetches and unpacks. */
  seconds: number;
  /** Folders whose files may be copied. */
  allowedPaths: readonly string[];
}

/** The answer, one line of JSON. Empty: everything is in its place. */
export interface FetchAnswer {
  /** The deploy is to blame. */
  fault?: string;
  /** This machine is. */
  trouble?: string;
}
