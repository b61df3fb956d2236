// How gwctl takes a command line apart.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Command } from '../../lib/ctl/command.ts'
import { COMMANDS } from '../../lib/ctl/commands.ts'
import { readLine } from '../../lib/ctl/words.ts'

function read(...words: string[]): { name: string | undefined; line: ReturnType<typeof readLine> } {
  const line = readLine(words, COMMANDS)
  return { name: line.command?.name, line }
}

const words = suite('words')

words('a command is found by its words, its aliases, and without proxy in front', () => {
  for (const typed of [
    ['proxy', 'config', 'backends'],
    ['proxy', 'cfg', 'be'],
    ['proxy', 'c', 'b'],
    ['config', 'backends'],
    ['c', 'be'],
  ])
    assert.is(read(...typed).name, 'proxy config backends', typed.join(' '))
  assert.is(read('trace').name, 'proxy trace')
  assert.is(read('profile', 'cpu').name, 'proxy profile cpu')
})

words('options stand anywhere, with a space or an equals sign', () => {
  for (const typed of [
    ['proxy', 'config', '-o', 'yaml', '--file', '-', 'all'],
    ['-o=yaml', 'proxy', '--file=-', 'config', 'all'],
    ['proxy', 'config', 'all', '--output', 'yaml', '-f', '-'],
  ]) {
    const { name, line } = read(...typed)
    assert.is(name, 'proxy config all')
    assert.equal(line.call.options.get('output'), ['yaml'])
    assert.equal(line.call.options.get('file'), ['-'])
    assert.equal(line.call.words, [])
  }
})

words('a switch does not eat the word behind it', () => {
  const { line } = read('proxy', 'trace', '--raw', 'gateway/a')
  assert.equal(line.call.words, ['gateway/a'])
  assert.equal(line.call.options.get('raw'), [''])
})

words('what stands behind -- is left alone', () => {
  const { line } = read('proxy', 'trace', '--port', '1', '--', 'http://a/', '-X', 'PUT', '--', '-h')
  assert.equal(line.call.rest, ['http://a/', '-X', 'PUT', '--', '-h'])
  assert.equal(line.call.words, [])
  assert.is(line.asks, 'run')
  assert.is(read('proxy', 'trace').line.call.rest, null)
  assert.equal(read('proxy', 'trace', '--').line.call.rest, [])
})

words('values may look like numbers, options or equations', () => {
  const { line } = read('proxy', 'trace', '--expression', 'a == "b"', '--port', '007')
  assert.equal(line.call.options.get('expression'), ['a == "b"'])
  assert.equal(line.call.options.get('port'), ['007'])
  const equation = read('proxy', 'trace', '--expression=a==b').line
  assert.equal(equation.call.options.get('expression'), ['a==b'])
  assert.equal(
    read('proxy', 'profile', 'cpu', '--seconds', '-5').line.call.options.get('seconds'),
    ['-5'],
  )
})

words('an option that repeats has all its values, any other is refused twice', () => {
  const { line } = read('proxy', 'log', '--set', 'a=b', '--set=c=d')
  assert.equal(line.call.options.get('set'), ['a=b', 'c=d'])
  assert.throws(
    () => read('proxy', 'log', '--level', 'a', '--level', 'b'),
    /^--level is given more/,
  )
})

words('the port of a profile has two names, that of a trace means a listener', () => {
  const { line } = read('profile', 'heap', '--port', '1')
  assert.equal(line.call.options.get('proxy-admin-port'), ['1'])
  const { options } = read('trace', '--port', '1', '-p', '2').line.call
  assert.equal(Object.fromEntries(options), { port: ['1'], 'proxy-admin-port': ['2'] })
})

words('asks for help and version are seen before anything is run', () => {
  assert.is(read('proxy', 'trace', '--help').line.asks, 'help')
  assert.is(read('-h').line.asks, 'help')
  assert.is(read().line.asks, 'help')
  assert.is(read('proxy').line.asks, 'help')
  assert.is(read('--version').line.asks, 'version')
})

words('what is not known is refused with what comes nearest', () => {
  const refuses = (message: string, ...typed: string[]): void =>
    assert.throws(
      () => read(...typed),
      (error: Error) => error.message === message,
    )
  refuses('Invalid command: nothing', 'nothing')
  refuses('Invalid command: proxy trase; did you mean trace?', 'proxy', 'trase')
  refuses('Invalid command: prxoy; did you mean proxy?', 'prxoy')
  refuses('Invalid command: proxy config rotues; did you mean routes?', 'proxy', 'config', 'rotues')
  refuses('unknown option --rwa; did you mean --raw?', 'proxy', 'trace', '--rwa')
  refuses('unknown option --zzzzz', 'proxy', 'trace', '--zzzzz')
  refuses('--raw takes no value', 'proxy', 'trace', '--raw=yes')
  refuses('--port needs a value: --port <port>', 'proxy', 'trace', '--port')
  refuses('--port needs a value: --port <port>', 'proxy', 'trace', '--port', '--raw')
})

words('every command tells what it is for, with an example that it understands itself', () => {
  for (const command of COMMANDS as readonly Command[]) {
    assert.match(command.about, /\.$/, command.name)
    assert.ok(command.examples.length > 0, command.name)
    for (const example of command.examples) {
      const plain = example.replace(/ [|>].*$/, '').replace(/'[^']*'/g, 'x')
      assert.is(typeof read(...plain.split(' ')).name, 'string', example)
    }
  }
})

words.run()
