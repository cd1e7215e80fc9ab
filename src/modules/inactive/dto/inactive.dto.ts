import { ApiProperty } from '@nestjs/swagger';
import { IsNotEmpty, IsString } from 'class-validator';

/** Which host. */
export class HostQuery {
  /** Name of the host, as slaves show it. */
  @ApiProperty()
  @IsString()
  @IsNotEmpty()
  host: string;
}
