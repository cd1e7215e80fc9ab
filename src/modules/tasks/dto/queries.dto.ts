import { IsString } from 'class-validator';

/** A file on a slave. */
export class SlaveFileQuery {
  /** Name of the slave's machine. */
  @IsString()
  slaveHostname: string;
  /** Absolute path of the file, in the sandbox of a task. */
  @IsString()
  path: string;
}
