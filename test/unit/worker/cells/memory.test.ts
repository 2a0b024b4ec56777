import { describe, expect, it } from 'vitest';
import { cellMemory, memoryForCells, roomForCells } from '../../../../lib/worker/cells/host/memory.ts';

const MIB = 1024 * 1024;

describe('the room for further cells', () => {
  it.each<[string, number, readonly number[], number]>([
    ['is what memory has beyond those that live', 512, [100, 100], 3],
    ['counts a cell that has just started as an idle one', 256, [0, 0], 2],
    ['expects each to grow as large as the largest', 1024, [64, 400], 1],
    ['is none where memory is short', 100, [64], 0],
    ['is none where cells use more than there is', 100, [200], 0],
  ])('%s', (_, bytes, cells, room) => {
    const sizes = cells.map((size) => size * MIB);
    expect(roomForCells(bytes * MIB, sizes)).toBe(room);
  });
});

it('cells have the function’s memory less the host’s, in even shares of at least 64 MB', () => {
  const bytes = memoryForCells({ AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '4096' });
  expect(bytes).toBeLessThanOrEqual((4096 - 110) * MIB);
  expect(cellMemory(2, 400 * MIB)).toBe(200 * MIB);
  expect(cellMemory(9, 400 * MIB)).toBe(64 * MIB);
});
