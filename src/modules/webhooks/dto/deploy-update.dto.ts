import { ApiProperty } from '@nestjs/swagger';
import { DeployDto } from '../../deploys/dto/deploy.dto.js';
import { DeployMarkerDto } from '../../deploys/dto/pending-deploy.dto.js';
import { DeployResultDto } from '../../history/dto/deploy-history.dto.js';

/** The start or the end of a deploy. */
export class DeployUpdateDto {
  /** Which deploy it is, and who started it. */
  deployMarker: DeployMarkerDto;
  /** What is deployed. */
  deploy?: DeployDto;
  /** STARTING when the deploy was accepted, FINISHED when it has ended, however. */
  @ApiProperty({ enum: ['STARTING', 'FINISHED'] })
  eventType: 'STARTING' | 'FINISHED';
  /** How it ended. */
  deployResult?: DeployResultDto;
}
