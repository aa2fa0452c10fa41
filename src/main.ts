import { startSupervisor } from './processes/supervisor.ts';

/** The service's one entry: `npm start`. */
await startSupervisor();
