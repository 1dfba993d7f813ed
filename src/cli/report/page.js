// Draws the charts whose numbers stand in the page, and lets tables be sorted. The page does without
// it: the same numbers are in texts and tables.
'use strict';
(() => {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll('figure[data-chart]')];
  const charts = new Map();
  const colour = name => getComputedStyle(root).getPropertyValue('--' + name).trim();
  const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
  const number = new Intl.NumberFormat('en', {maximumSignificantDigits: 4});
  const shown = (value, unit) => unit === '%' ? number.format(100 * value) + ' %' : number.format(value) + ' ' + unit;

  const axis = (title, unit, more) => ({
    title: {display: Boolean(title), text: title, color: colour('quiet')},
    grid: {color: colour('line'), drawTicks: false},
    border: {display: false},
    ticks: {color: colour('quiet'), padding: 6, maxRotation: 0, includeBounds: false,
      ...(unit === '%' && {callback: value => Math.round(100 * value) + ' %'})},
    ...more,
  });

  // These are fixed for all kinds: nothing moves, and the plot fills its box.
  const options = (tooltip, legend, more) => ({
    animation: false, responsive: true, maintainAspectRatio: false, color: colour('text'),
    plugins: {legend: {position: 'bottom', labels: {color: colour('text'), boxHeight: 2, boxWidth: 24}, ...legend}, tooltip: {callbacks: tooltip}},
    ...more,
  });

  // {x, y: {title, unit, least, most}, series: [{label, group, points: [[x, y], ...]}],
  //  groups: [name], marks: [{label, y}], stepped}
  const lines = spec => {
    const ends = spec.series.flatMap(series => [series.points[0][0], series.points.at(-1)[0]]);
    const series = spec.series.map(({label, group, points}) => ({
      label, group, data: points.map(([x, y]) => ({x, y})), stepped: spec.stepped ? 'before' : false,
      borderColor: colour('c' + group % 8), backgroundColor: colour('c' + group % 8), borderDash: dashes[group % 4],
      borderWidth: spec.series.length > 12 ? 1 : 2, pointRadius: points.length > 1 && spec.stepped ? 0 : 2.5, pointHitRadius: 8,
    }));
    const marks = spec.marks.map(({label, y}) => ({
      label, mark: true, data: [{x: spec.stepped ? 0 : Math.min(...ends), y}, {x: Math.max(...ends), y}],
      borderColor: colour('quiet'), borderDash: [3, 4], borderWidth: 1, pointRadius: 0, pointHitRadius: 0,
    }));
    const first = group => spec.series.findIndex(each => each.group === group);
    const label = item => item.dataset.label + ': ' + shown(item.parsed.y, spec.y.unit);
    return {
      type: 'line',
      data: {datasets: [...series, ...marks]},
      options: options({title: items => items.length ? shown(items[0].parsed.x, spec.x.unit) : '', label}, {
        labels: {
          color: colour('text'), boxHeight: 0, boxWidth: 28,
          filter: item => item.datasetIndex >= series.length || item.datasetIndex === first(series[item.datasetIndex].group),
          generateLabels: chart => Chart.defaults.plugins.legend.labels.generateLabels(chart).map(item => ({
            ...item, text: item.datasetIndex < series.length ? spec.groups[series[item.datasetIndex].group] : item.text,
          })),
        },
        onClick: () => {},
      }, {
        parsing: false, normalized: true, interaction: {mode: 'nearest', axis: 'xy', intersect: false},
        scales: {
          x: axis(spec.x.title, spec.x.unit, {type: 'linear', min: spec.stepped ? 0 : undefined, max: Math.max(...ends)}),
          y: axis(spec.y.title, spec.y.unit, {min: spec.y.least, max: spec.y.most ?? undefined}),
        },
      }),
    };
  };

  const short = text => text.length > 16 ? text.slice(0, 15) + '…' : text;

  // {labels, series: [{label, colour, values}], unit, title}: upright bars beside each other.
  const bars = spec => ({
    type: 'bar',
    data: {labels: spec.labels, datasets: spec.series.map(series => ({
      label: series.label, data: series.values, backgroundColor: colour('c' + series.colour), categoryPercentage: 0.8, barPercentage: 0.95,
    }))},
    options: options({label: item => item.dataset.label + ': ' + shown(item.parsed.y, spec.unit)}, {display: false}, {
      scales: {
        x: axis('', '', {grid: {display: false}, ticks: {color: colour('quiet'), maxRotation: 60, callback: index => short(spec.labels[index])}}),
        y: axis('', spec.unit, {min: 0, max: 1}),
      },
    }),
  });

  // The same fields: one lying bar for each label, with its parts behind each other.
  const stacked = spec => ({
    type: 'bar',
    data: {labels: spec.labels, datasets: spec.series.map(series => ({
      label: series.label, data: series.values, backgroundColor: colour('c' + series.colour), borderColor: colour('ground'), borderWidth: 1,
    }))},
    options: options({label: item => item.dataset.label + ': ' + shown(item.parsed.x, spec.unit)},
      {labels: {color: colour('text'), boxHeight: 10, boxWidth: 10}}, {
      indexAxis: 'y',
      scales: {
        x: axis(spec.title, spec.unit, {stacked: true}),
        y: axis('', '', {stacked: true, grid: {display: false}, ticks: {color: colour('text'), autoSkip: false}}),
      },
    }),
  });

  const kinds = {lines, bars, stacked};
  const count = () => { root.dataset.charts = charts.size + '/' + figures.length; };
  const draw = figure => {
    if (charts.has(figure)) return;
    const spec = JSON.parse(figure.querySelector('script').textContent);
    charts.set(figure, new Chart(figure.querySelector('canvas'), kinds[figure.dataset.chart](spec)));
    count();
  };
  const remove = figure => {
    charts.get(figure)?.destroy();
    charts.delete(figure);
    count();
  };
  const again = () => [...charts.keys()].forEach(figure => { remove(figure); draw(figure); });

  // Only charts near the window stay drawn: a large database has thousands of them.
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  count();
  const near = new IntersectionObserver(
    entries => entries.forEach(entry => (entry.isIntersecting ? draw : remove)(entry.target)), {rootMargin: '150% 0px'});
  figures.forEach(figure => near.observe(figure));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  addEventListener('beforeprint', () => { near.disconnect(); root.classList.add('paper'); again(); figures.forEach(draw); });
  addEventListener('afterprint', () => { root.classList.remove('paper'); again(); figures.forEach(figure => near.observe(figure)); });

  // A model: what is pointed at is told beside it, with the lines that it reads and makes, and other
  // nodes of its task. A click keeps it until the next one.
  for (const model of document.querySelectorAll('.model')) {
    const nodes = [...model.querySelectorAll('a.node')];
    const lanes = [...model.querySelectorAll('.lane')].map(lane => [lane, new Set(lane.dataset.rows.trim().split(' '))]);
    let kept = null, shown = null;
    const show = node => {
      if (node === shown) return;
      shown = node;
      model.classList.toggle('picked', node !== null);
      model.querySelector('.detail.shown')?.classList.remove('shown');
      if (node !== null) document.getElementById(node.hash.slice(1)).classList.add('shown');
      model.querySelector('.details').scrollTop = 0;
      const row = node?.parentNode.dataset.row;
      for (const [lane, rows] of lanes) lane.classList.toggle('near', rows.has(row));
      for (const other of nodes) {
        other.classList.toggle('shown', other === node);
        other.classList.toggle('same', node !== null && other.dataset.task === node.dataset.task);
      }
    };
    const keep = node => { kept = kept === node ? null : node; show(node); };
    for (const node of nodes) {
      node.addEventListener('mouseenter', () => show(node));
      node.addEventListener('mouseleave', () => { if (kept !== null) show(kept); });
      node.addEventListener('focus', () => show(node));
      node.addEventListener('click', event => { event.preventDefault(); keep(node); });
    }
    for (const link of model.querySelectorAll('.tasks a')) {
      link.addEventListener('click', event => {
        event.preventDefault();
        kept = nodes.find(node => node.hash === link.hash);
        show(kept);
        kept.scrollIntoView({block: 'center'});
      });
    }
    // At first, the node that takes most time.
    const most = model.querySelector('.tasks a');
    if (most !== null) show(kept = nodes.find(node => node.hash === most.hash));
  }

  // Tables: a click on a column's title sorts by it, the next click the other way round.
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const sort = (table, header, column) => {
    const numbers = header.classList.contains('number');
    const now = header.getAttribute('aria-sort') ?? '';
    const down = now === '' ? numbers : now === 'ascending';
    for (const other of header.parentNode.cells) other.removeAttribute('aria-sort');
    header.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const compare = (a, b) => numbers ? value(a, column) - value(b, column) : value(a, column).localeCompare(value(b, column), 'en', {numeric: true});
    const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? -1 : 1) * compare(a, b));
    table.tBodies[0].append(...rows);
  };
  for (const table of document.querySelectorAll('table.sortable')) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement('button');
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener('click', () => sort(table, header, column));
    });
    if (table.tBodies[0].rows.length <= 12) continue;
    const filter = Object.assign(document.createElement('input'), {type: 'search', className: 'filter', placeholder: 'Filter'});
    filter.setAttribute('aria-label', 'Show only rows that contain');
    filter.addEventListener('input', () => {
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase());
    });
    table.parentNode.before(filter);
  }
})();
