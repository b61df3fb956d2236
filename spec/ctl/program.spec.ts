// gwctl as a whole: help, completion, words on standard error, and how little it loads to start.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { COMMANDS } from '../../lib/ctl/commands.ts'
import { Folder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'
import { ROOT } from '../support/root.ts'

const STATIC = /^import\s+(?!type\b)(?:[\w\s{},*$]*\sfrom\s+)?['"]([^'"]+)['"]/gm

/** Every module that is loaded before anything is done. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  for (const [, target = ''] of readFileSync(join(ROOT, path), 'utf8').matchAll(STATIC)) {
    const to = target.startsWith('.') ? join(path, '..', target) : target
    if (seen.has(to)) continue
    seen.add(to)
    if (target.startsWith('.')) loadedBy(to, seen)
  }
  return seen
}

const program = suite('gwctl')

program('every command has help with examples', async () => {
  for (const { name, options, examples } of COMMANDS) {
    const { code, stdout, stderr } = await runProgram('gwctl', [...name.split(' '), '--help'])
    assert.equal([stderr, code], ['', 0], name)
    for (const option of options) assert.match(stdout, `--${option.name}`)
    for (const example of examples) assert.match(stdout, `$ gwctl ${example}`)
  }
})

program('without a command it tells which there are', async () => {
  for (const args of [[], ['--help'], ['-h']]) {
    const { code, stdout } = await runProgram('gwctl', args)
    assert.is(code, 0)
    for (const { name } of COMMANDS) assert.match(stdout, new RegExp(`^ {4}${name} `, 'm'))
  }
  const group = await runProgram('gwctl', ['proxy', 'config'])
  assert.match(group.stdout, 'proxy config backends  List the backends.')
  assert.is(group.code, 0)
})

program('a wrong word is one line on standard error and code 1', async () => {
  for (const [args, message] of [
    [['versoin'], 'Invalid command: versoin; did you mean version?'],
    [['version', '--nothing'], 'unknown option --nothing'],
    [['version', 'now'], 'unexpected argument now'],
    [['version', '--', 'x'], 'unexpected argument --'],
    [['completion', 'fisch'], 'unknown shell fisch: did you mean fish?'],
    [['completion'], 'a shell is missing: bash, zsh or fish'],
  ] as const) {
    const { code, stdout, stderr } = await runProgram('gwctl', args)
    assert.equal([stdout, stderr, code], ['', `Error: ${message}\n`, 1])
  }
})

program('no colour is printed into a pipe, whatever the environment says', async () => {
  const env = { FORCE_COLOR: '3', TERM: 'xterm-256color' }
  for (const args of [['--help'], ['proxy', 'trace', '--help'], ['nothing']]) {
    const { stdout, stderr } = await runProgram('gwctl', args, env)
    assert.not.match(stdout + stderr, '\x1b')
  }
})

program('bash completes commands and options', async () => {
  const { stdout } = await runProgram('gwctl', ['completion', 'bash'])
  const folder = new Folder()
  const script = folder.write('gwctl.bash', stdout)
  const complete = (...words: string[]): string[] => {
    const line = `source ${script}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}; _gwctl; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { status, stdout: found } = spawnSync('bash', ['-c', line], { encoding: 'utf8' })
    assert.is(status, 0)
    return found.trim().split('\n')
  }
  assert.equal(complete('gwctl', ''), ['version', 'proxy', 'completion', '--help'])
  assert.equal(complete('gwctl', 'proxy', 't'), ['trace', 'tasks'])
  assert.equal(complete('gwctl', 'proxy', 'config', 'b'), ['backends'])
  assert.equal(complete('gwctl', 'proxy', 'trace', '--p'), ['--port', '--proxy-admin-port'])
  folder.close()
})

program('the other shells have a script as well', async () => {
  const zsh = await runProgram('gwctl', ['completion', 'zsh'])
  assert.match(zsh.stdout, /^#compdef gwctl\n/)
  const fish = await runProgram('gwctl', ['completion', 'fish'])
  assert.match(fish.stdout, /^complete -c gwctl -f\n/)
  assert.match(fish.stdout, '-a backends')
})

program('starts with the table of commands alone: all else is loaded when it is needed', () => {
  assert.equal(
    [...loadedBy('bin/gwctl.ts')],
    ['program', 'commands', 'words', 'nearest'].map((name) => `lib/ctl/${name}.ts`),
  )
})

program('never loads what takes long to load', () => {
  for (const path of [
    ...['trace/command', 'config/command', 'profile', 'log', 'tree', 'completion', 'version'],
    ...['help', 'screen/screen'],
  ]) {
    const loaded = [...loadedBy(`lib/ctl/${path}.ts`)]
    const heavy = loaded.filter((name) => /base\/(?:cel|config)|zod|undici|jose/.test(name))
    assert.equal(heavy, [], path)
  }
})

program.run()
