import type { Base64, Int32, Int64 } from '../schema.js';

/** A file that is fetched into the sandbox before the task starts. */
export interface ClusterArtifact {
  /** Where to fetch it from. */
  uri: string;
  /** Name of the file in the sandbox; the last part of the uri unless said otherwise. */
  outputFile?: string;
  /** Keep it on the machine for the next task. */
  cache?: boolean;
  /** Mark it as executable. */
  executable?: boolean;
  /** Unpack it when it is an archive; true unless said otherwise. */
  extract?: boolean;
}

/** Files of the sandbox that are uploaded to the object store. */
export interface ObjstoreUploaderFile {
  /** File, or pattern of files, in the sandbox. */
  filename?: string;
  /** Bucket to upload to. */
  objstoreUploaderBucket?: string;
  /** Pattern of the object's key. */
  objstoreUploaderKeyPattern?: string;
  /** Name to use in the key in place of the file's own. */
  objstoreUploaderFilenameHint?: string;
  /** Folder that holds the files. */
  directory?: string;
  /** Storage class of the objects. */
  objstoreStorageClass?: string;
  /** Size in bytes from which the storage class applies. */
  applyObjstoreStorageClassAfterBytes?: Int64;
  /** Look into subfolders as well. */
  checkSubdirectories?: boolean;
}

/** A file whose content stands in the deploy itself. */
export interface EmbeddedArtifact {
  /** Name of the artifact. */
  name?: string;
  /** Name of the file to write. */
  filename?: string;
  /** Checksum of the content. */
  md5sum?: string;
  /** Content in base64; several texts are written one after the other. One text that was sent without a list is answered so. */
  content?: Base64[];
  /** Folder to write to, relative to the task's. */
  targetFolderRelativeToTask?: string;
}

/** A file that is downloaded. */
export interface ExternalArtifact {
  /** Name of the artifact. */
  name?: string;
  /** Name of the file to write. */
  filename?: string;
  /** Checksum that the download must have. */
  md5sum?: string;
  /** Where to download it from. */
  url?: string;
  /** Size in bytes. */
  filesize?: Int64;
  /** Folder to write to, relative to the task's. */
  targetFolderRelativeToTask?: string;
  /** The file is a list of further artifacts. */
  isArtifactList?: boolean;
}

/** A file of the object store. */
export interface ObjstoreArtifact {
  /** Name of the artifact. */
  name?: string;
  /** Name of the file to write. */
  filename?: string;
  /** Checksum that the object must have. */
  md5sum?: string;
  /** Size in bytes. */
  filesize?: Int64;
  /** Bucket of the object. */
  objstoreBucket?: string;
  /** Key of the object. */
  objstoreObjectKey?: string;
  /** Folder to write to, relative to the task's. */
  targetFolderRelativeToTask?: string;
  /** The file is a list of further artifacts. */
  isArtifactList?: boolean;
}

/** The signature of an object store artifact, itself an object. */
export interface ObjstoreArtifactSignature {
  /** Name of the artifact. */
  name?: string;
  /** Name of the file to write. */
  filename?: string;
  /** Checksum that the object must have. */
  md5sum?: string;
  /** Size in bytes. */
  filesize?: Int64;
  /** Bucket of the object. */
  objstoreBucket?: string;
  /** Key of the object. */
  objstoreObjectKey?: string;
  /** Folder to write to, relative to the task's. */
  targetFolderRelativeToTask?: string;
  /** Filename of the artifact that is signed. */
  artifactFilename?: string;
  /** The file is a list of further artifacts. */
  isArtifactList?: boolean;
}

/** What the task's executor is to do. */
export interface ExecutorData {
  /** Command that the executor runs. */
  cmd: string;
  /** Files whose content stands here. */
  embeddedArtifacts?: EmbeddedArtifact[];
  /** Files to download. */
  externalArtifacts?: ExternalArtifact[];
  /** Files of the object store. */
  objstoreArtifacts?: ObjstoreArtifact[];
  /** Exit codes that count as success; only 0 unless said otherwise. */
  successfulExitCodes?: Int32[];
  /** User to run as. */
  user?: string;
  /** A file whose existence tells that the task is running. */
  runningSentinel?: string;
  /** Arguments appended to the command. */
  extraCmdLineArgs?: string[];
  /** Tag for the log watcher. */
  loggingTag?: string;
  /** Further fields for the log watcher. */
  loggingExtraFields?: Record<string, string>;
  /** Milliseconds between SIGTERM and SIGKILL. */
  sigKillProcessesAfterMillis?: Int64;
  /** Most threads the task may have. */
  maxTaskThreads?: Int32;
  /** Most files the task may have open. */
  maxOpenFiles?: Int32;
  /** Signatures of object store artifacts. */
  objstoreArtifactSignatures?: ObjstoreArtifactSignature[];
  /** How often the logs are rotated. */
  logrotateFrequency?: 'EVERY_MINUTE' | 'EVERY_FIVE_MINUTES' | 'HOURLY' | 'DAILY' | 'WEEKLY' | 'MONTHLY';
  /** Keep the sandbox when the task has ended. */
  preserveTaskSandboxAfterFinish?: boolean;
  /** Leave the logs as they are. */
  skipLogrotateAndCompress?: boolean;
}
