"""Forms of configurations that devices and people write beside those that we write."""

from __future__ import annotations

from flowprism.exporter_config.dialects import DIALECTS, recognize
from flowprism.exporter_config.model import DISCOVERED, Direction, ExportConfig, PacketSampling, Value, Vendor, default


def read(text: str, vendor: Vendor) -> ExportConfig:
    """The settings of a text, which must be recognized."""
    assert recognize(text) is vendor
    return DIALECTS[vendor].read(text, "leaf1.cfg")


def sampling(text: str, vendor: Vendor) -> PacketSampling:
    """Its packet sampling."""
    found = read(text, vendor).sampling
    assert found is not None
    return found


def test_junos_braces_say_the_same_as_set_commands() -> None:
    """Lists, comments, inactive statements and groups of either form come to the same settings."""
    braces = """
groups {
    RATES {
        protocols {
            sflow {
                sample-rate ingress 4096;
            }
        }
    }
}
apply-groups RATES;
protocols {
    /* samples */
    sflow {
        adaptive-sample-rate 5000 {
            fallback;
        }
        collector 10.0.0.5 {
            udp-port 6344;
        }
        inactive: collector 10.0.0.6;
        interfaces et-0/0/0.0 {
            polling-interval 5;
        }
        interfaces et-0/0/1.0;
    }
}
"""
    commands = """set groups RATES protocols sflow sample-rate ingress 4096
set apply-groups RATES
set protocols sflow adaptive-sample-rate 5000 fallback
set protocols sflow collector 10.0.0.5 udp-port 6344
set protocols sflow collector 10.0.0.6
deactivate protocols sflow collector 10.0.0.6
set protocols sflow interfaces et-0/0/0.0 polling-interval 5
set protocols sflow interfaces et-0/0/1.0
"""
    assert read(braces, Vendor.JUNIPER_JUNOS) == read(commands, Vendor.JUNIPER_JUNOS)
    found = sampling(braces, Vendor.JUNIPER_JUNOS)
    assert found.rate is not None
    assert (found.rate.value, found.rate.line, len(found.collectors)) == (4096, 6, 1)


def test_junos_all_interfaces() -> None:
    """`interfaces all` covers ports that are not listed."""
    found = sampling("set protocols sflow interfaces all\nset system host-name a\n", Vendor.JUNIPER_JUNOS)
    assert (found.all_ports.value, found.ports) == (True, ())


def test_eos_output_interface_is_no_egress_sampling() -> None:
    """`sflow sample output` says which output interface a sample names; packets are sampled where they enter."""
    text = "sflow sample 65536\nsflow sample output subinterface\nsflow destination 10.0.0.5\nsflow run\n"
    found = sampling(text, Vendor.ARISTA_EOS)
    assert found.direction == default(Direction.INGRESS)


def test_eos_statements_of_interfaces_and_trackers_are_counted() -> None:
    """What an interface or a tracker says and is not understood is listed with its line."""
    text = (
        "sflow run\nflow tracking sampled\n   sample 666\n   hardware offload ipv4\n   tracker t\n"
        "      record export on interval 5000\n      record export by magic\n   no shutdown\n"
        "interface Ethernet1\n   sflow enable\n   sflow sometimes\n"
    )
    around = read(text, Vendor.ARISTA_EOS).around
    assert around.statements == 9
    assert [(row.line, row.statement) for row in around.unread] == [(7, "record export"), (11, "sflow sometimes")]


def test_yaml_that_names_sflow_is_no_nvue() -> None:
    """Structured data of other tools, as they lie next to configurations, is no configuration of a switch."""
    assert recognize("hostname: leaf1\nethernet_interfaces:\n- name: Ethernet1\n  sflow:\n    enable: true\n") is None


def test_eos_last_rate_counts() -> None:
    """A later statement replaces an earlier one, and `dangerous` with it."""
    found = sampling("sflow sample dangerous 1000\nsflow sample 32768\nsflow run\n", Vendor.ARISTA_EOS)
    assert found.rate is not None
    assert (found.rate.value, found.confirmed) == (32_768, False)


def test_nxos_range_of_ports() -> None:
    """A range names every port of it, as their interfaces are named."""
    found = sampling("feature sflow\nsflow data-source interface ethernet 1/1-3\n", Vendor.CISCO_NXOS)
    assert [port.name for port in found.ports] == ["Ethernet1/1", "Ethernet1/2", "Ethernet1/3"]


def test_onyx_range_of_ports() -> None:
    """The same on Onyx."""
    found = sampling("   protocol sflow\n   interface ethernet 1/7-1/9 sflow enable\n", Vendor.NVIDIA_ONYX)
    assert [port.name for port in found.ports] == ["1/7", "1/8", "1/9"]


def test_nvue_yaml_says_the_same_as_commands() -> None:
    """`nv config show` and `nv set` come to the same settings, those of a single port included."""
    yaml = """- set:
    interface:
      swp1:
        sflow:
          sample-rate: 1000
          state: disabled
    system:
      hostname: leaf1
      sflow:
        collector:
          10.0.0.5: {}
        sampling-rate:
          speed-400g: 16384
        state: enabled
"""
    commands = """nv set system hostname leaf1
nv set system sflow collector 10.0.0.5
nv set system sflow sampling-rate speed-400g 16384
nv set system sflow state enabled
nv set interface swp1 sflow sample-rate 1000
nv set interface swp1 sflow state disabled
"""
    assert read(yaml, Vendor.CUMULUS_NVUE) == read(commands, Vendor.CUMULUS_NVUE)
    assert read(yaml, Vendor.CUMULUS_NVUE).name == "leaf1"


def test_hsflowd_on_one_line_and_in_several() -> None:
    """Braces, equal signs and semicolons separate as blanks do; comments end a line."""
    one = "sflow { polling=5 sampling.100G=8192 collector{ip=10.0.0.5;udpport=6344} psample{group=1 egress=on} }\n"
    several = """sflow {
  polling = 5   # seconds
  sampling.100G = 8192
  collector {
    ip = 10.0.0.5
    UDPPort = 6344
  }
  psample {
    group = 1
    egress = on
  }
}
"""
    assert read(one, Vendor.HSFLOWD) == read(several, Vendor.HSFLOWD)
    assert sampling(one, Vendor.HSFLOWD).direction.value is Direction.BOTH


def test_open_vswitch_bridge_before_its_row() -> None:
    """A bridge may be given a row in the same command before the row is created."""
    text = 'sudo ovs-vsctl -- set bridge br1 sflow=@s -- --id=@s create sFlow targets=\\"10.0.0.1:6343\\" sampling=64\n'
    found = sampling(text, Vendor.OPEN_VSWITCH)
    assert [port.name for port in found.ports] == ["br1"]
    assert (found.collectors[0].address, found.collectors[0].port.value) == ("10.0.0.1", 6343)


def test_sonic_without_its_tables_has_no_sampling() -> None:
    """A database without the tables of sFlow is a switch that exports nothing."""
    config = read('{"DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}}, "PORT": {}}', Vendor.SONIC)
    assert (config.sampling, config.name) == (None, "leaf1")


def test_lines_end_as_terminals_end_them() -> None:
    """Carriage returns of a recorded terminal change neither settings nor line numbers."""
    text = "feature sflow\nsflow agent-ip 10.255.0.1\nsflow sampling-rate 8192\n"
    recorded = read(text.replace("\n", "\r\n"), Vendor.CISCO_NXOS)
    assert recorded == read(text, Vendor.CISCO_NXOS)
    assert recorded.sampling is not None
    assert recorded.sampling.rate is not None
    assert recorded.sampling.rate.line == 3


def test_other_texts_are_of_no_vendor() -> None:
    """A shell script, a diary and an empty text are no configuration."""
    assert [recognize(text) for text in ("", "#!/bin/sh\necho sflow\n", "We set up sflow today.\n")] == [None] * 3


def test_other_vendors_are_not_taken_for_known_ones() -> None:
    """Dell OS10, Huawei and IOS XE write similar statements with another meaning; none of them is recognized."""
    dell = """sflow enable all-interfaces
sflow source-interface loopback 1
sflow sample-rate 4096
sflow collector 10.0.0.5 agent-addr 10.255.0.1
"""
    huawei = """sysname leaf1
sflow agent ip 10.255.0.1
sflow collector 1 ip 10.0.0.5
sflow source ip 10.255.0.1
interface 10GE1/0/1
 sflow sampling rate 4096
"""
    ios = """hostname edge1
flow exporter nms
 destination 10.0.0.5
flow monitor nms
 exporter nms
"""
    assert [recognize(text) for text in (dell, huawei, ios)] == [None] * 3


def test_nvue_range_of_ports() -> None:
    """`swp1-3,swp5s0-1` names five ports."""
    found = sampling("nv set interface swp1-3,swp5s0-1 sflow state disabled\n", Vendor.CUMULUS_NVUE)
    assert [port.name for port in found.ports] == ["swp1", "swp2", "swp3", "swp5s0", "swp5s1"]


def test_onyx_range_of_split_port() -> None:
    """`1/5/1-1/5/3` names the parts of a port that is split."""
    text = "protocol sflow\nsflow enable\ninterface ethernet 1/5/1-1/5/3 sflow enable\n"
    assert [port.name for port in sampling(text, Vendor.NVIDIA_ONYX).ports] == ["1/5/1", "1/5/2", "1/5/3"]


def test_hsflowd_collectors_from_a_name_server() -> None:
    """With DNS service discovery the file names no collector, and lacks none."""
    found = sampling("sflow {\n  agent = eth0\n  DNS-SD { }\n  psample { group = 1 }\n}\n", Vendor.HSFLOWD)
    assert [collector.address for collector in found.collectors] == [DISCOVERED]


def test_netflow_statements_are_counted() -> None:
    """What NX-OS and Junos say of flow records counts as read, or is listed."""
    nxos = "feature netflow\nflow exporter e\n  destination 10.0.0.5\n  teleport on\nflow monitor m\n  exporter e\n"
    around = read(nxos, Vendor.CISCO_NXOS).around
    assert (around.statements, [row.line for row in around.unread]) == (3, [4])
    junos = "set forwarding-options sampling instance i input rate 10\nset services flow-monitoring magic\n"
    around = read(junos, Vendor.JUNIPER_JUNOS).around
    assert (around.statements, [row.line for row in around.unread]) == (2, [2])


def test_junos_sampling_without_an_instance() -> None:
    """Sampling that no instance names is bound to no line card, and runs."""
    text = (
        "set forwarding-options sampling input rate 4096\n"
        "set forwarding-options sampling family inet output flow-server 10.4.4.21 port 2050\n"
    )
    (flow,) = read(text, Vendor.JUNIPER_JUNOS).flows
    assert flow.enabled.value
    assert flow.rate is not None
    assert (flow.rate.value, flow.collectors[0].port.value) == (4096, 2050)


def test_nvue_commands_behind_a_prompt() -> None:
    """As documents and recordings of terminals have them."""
    found = sampling(
        "cumulus@switch:~$ nv set system sflow state enabled\ncumulus@switch:~$ nv config apply\n", Vendor.CUMULUS_NVUE
    )
    assert found.enabled.value


def test_eos_default_of_an_interface() -> None:
    """`show running-config all` says what is the default too."""
    around = read("sflow run\ninterface Ethernet1\n   default sflow enable\n", Vendor.ARISTA_EOS).around
    assert (around.statements, around.unread) == (2, ())


def test_statements_that_end_early_are_not_understood() -> None:
    """A word alone, as a cut file ends with, spoils nothing of what stands before it."""
    eos = read("sflow sample 65536\nsflow destination 10.0.0.5\nsflow run\nsflow \n", Vendor.ARISTA_EOS)
    assert eos.sampling is not None
    assert (eos.sampling.rate, [one.statement for one in eos.around.unread]) == (Value(65536, line=1), ["sflow"])
    commands = "nv set system sflow collector 10.0.0.5\nnv set system sflow state enabled\nnv set system hostname\n"
    nvue = read(commands, Vendor.CUMULUS_NVUE)
    assert nvue.around.hostname is None
    assert nvue.sampling is not None
    assert [one.address for one in nvue.sampling.collectors] == ["10.0.0.5"]
    sampling = "set forwarding-options sampling instance a"
    junos = read(
        f"{sampling} input rate 1000\n{sampling} family inet output flow-server 10.0.0.5 port\n", Vendor.JUNIPER_JUNOS
    )
    assert [one.address for flow in junos.flows for one in flow.collectors] == ["10.0.0.5"]
