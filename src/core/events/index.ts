export { requestOf, toldEvent } from './written.js';
