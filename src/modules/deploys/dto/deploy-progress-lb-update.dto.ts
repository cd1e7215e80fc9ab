import { LoadBalancerUpdateDto } from '../../load-balancer/dto/load-balancer-update.dto.js';
import { TaskIdDto } from '../../tasks/dto/task-id.dto.js';

/** A change of the load balancer that a deploy asked for. */
export class DeployProgressLbUpdateDto {
  /** How it stands. */
  loadBalancerUpdate: LoadBalancerUpdateDto;
  /** Tasks that come in. */
  added: TaskIdDto[];
  /** Tasks that go. */
  removed: TaskIdDto[];
}
