// The script of pages that name no other. Scripts improve pages that are whole without them.
import { installHelp } from './lib/help.js';
import { installKeys, installModified } from './lib/keys.js';
import { installPalette } from './lib/palette.js';
import { installLive } from './lib/live.js';
import './lib/query.js';
import './lib/filter.js';
import './lib/recent.js';
import './lib/copy.js';
import './lib/check.js';

installKeys();
installModified();
installHelp();
installPalette();
installLive();
