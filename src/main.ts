import { startSupervisor } from './supervisor.ts';

/** The service's one entry: `npm start`. */
await startSupervisor();
