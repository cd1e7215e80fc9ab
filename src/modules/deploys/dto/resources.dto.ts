import { IsOptional } from 'class-validator';
import { Decimal, Int32 } from '../../../platform/http/fields.js';

/** What one task may use of its machine. */
export class ResourcesDto {
  /** Cores; fractions are allowed. */
  @IsOptional()
  @Decimal()
  cpus?: number;
  /** Memory in MB. */
  @IsOptional()
  @Decimal()
  memoryMb?: number;
  /** Number of ports; the task finds them in PORT0, PORT1, ... */
  @IsOptional()
  @Int32()
  numPorts?: number;
  /** Disk in MB. */
  @IsOptional()
  @Decimal()
  diskMb?: number;
}
