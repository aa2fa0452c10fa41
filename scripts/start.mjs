// npm start: sets everything up and runs the service in this very process, so that signals reach it.
import { loadSettingsFile, prepare } from './prepare.mjs';

prepare();
loadSettingsFile();
await import('../dist/src/main.js');
