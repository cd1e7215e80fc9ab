export { refuseMetadata, type MetadataLimits } from './refuse-metadata.js';
