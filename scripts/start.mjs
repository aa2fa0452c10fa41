// npm start: sets everything up and runs the service in this very process, so that signals reach it.
import { prepare } from './prepare.mjs';

prepare();
await import('../dist/src/main.js');
