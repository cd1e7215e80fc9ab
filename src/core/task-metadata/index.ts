export { maxMetadataTypeLength, refuseMetadata, type MetadataLimits } from './refuse-metadata.js';
