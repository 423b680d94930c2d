// The script of results.
import './quarry.js';
import './lib/results.js';
