/** Preparation failed because of what the deploy asked for; anything else that fails is the agent's own trouble. */
export class DeployFault extends Error {}
