import { ApiBody } from '@nestjs/swagger';
import { UserDto } from './user.dto.js';

/** On operations that older clients send themselves along with: who calls is known without that. */
export const IgnoredUserBody = () =>
  ApiBody({ type: UserDto, required: false, description: 'Older clients send one. It is ignored.' });
