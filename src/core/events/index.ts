export { requestOf, publishedEvent } from './live-event.js';
