#!/usr/bin/env node
// gwctl: looks at a running gateway. So far it only knows its own version.

import sade from 'sade'
import { VERSION } from '../lib/base/version.ts'

sade('gwctl')
  .version(VERSION)
  .describe('Looks at a running gateway.')
  .command('version')
  .describe('Print the version.')
  .action(() => void process.stdout.write(`gwctl ${VERSION}\n`))
  .parse(process.argv, { unknown: (flag) => `unknown option ${flag}` })
